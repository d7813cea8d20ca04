"""``python -m harmonium.cli`` does what ``harmonium`` does."""

import sys

from harmonium.cli import main

sys.exit(main())
