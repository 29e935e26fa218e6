// SPDX-License-Identifier: MIT
// Has no code: the header that its target precompiles is read by every test.
