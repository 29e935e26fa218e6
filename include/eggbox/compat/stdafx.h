/* SPDX-License-Identifier: MIT */
/* Layer faces, compatibility: empty. The demonstration programs of D. Lafreniere's fixed block
 * allocators include a header of this name, which Visual Studio precompiles. A program that has its
 * own finds that first.
 */
