# SPDX-License-Identifier: MIT
"""In place of PlatformIO's platforms: PlatformIO looks for a class of the platform's name."""

from platformio.platform.base import PlatformBase


class NativePlatform(PlatformBase):
    pass


class BoardPlatform(PlatformBase):
    pass
