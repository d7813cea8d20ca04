"""``python -m harmonium.cli`` does what ``harmonium`` does."""

import sys

from harmonium.cli.app import main

sys.exit(main())
