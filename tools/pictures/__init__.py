# SPDX-License-Identifier: Apache-2.0
"""The pictures of the documentation: one module each, all text, the same on every machine."""
