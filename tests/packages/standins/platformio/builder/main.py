# SPDX-License-Identifier: MIT
"""Builds the program with this machine's compiler."""

from SCons.Script import Default, DefaultEnvironment

env = DefaultEnvironment()
env.Tool("gcc")
env.Tool("g++")
env.Tool("gnulink")
env.Tool("ar")
Default(env.BuildProgram())
