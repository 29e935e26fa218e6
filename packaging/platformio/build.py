# SPDX-License-Identifier: MIT
"""PlatformIO runs this before it compiles the library: microcontrollers get the core alone."""

Import("env")  # noqa: F821 - SCons defines both

if env["PIOPLATFORM"] == "native":  # noqa: F821
    env.Append(LIBS=["pthread"])  # noqa: F821
else:
    env.Append(CPPDEFINES=[("EGB_FREESTANDING", 1)])  # noqa: F821
