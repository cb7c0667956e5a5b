"""IP routing tables: longest-prefix match of single addresses and of whole columns.

>>> import fibula
>>> t = fibula.Table({"10.0.0.0/8": "corp", "2001:db8::/32": "doc"})
>>> t["10.1.2.3"]
'corp'
>>> t.get("192.0.2.1") is None
True
>>> "2001:db8::1" in t
True
"""

from fibula import _columns as _columns  # before any fork, which may cut an import in two
from fibula._fibula import PrefixSet, Table, Vrps, __version__
from fibula._files import open, read
from fibula._routes import Difference, Routes

__all__ = ["Difference", "PrefixSet", "Routes", "Table", "Vrps", "__version__", "open", "read"]
