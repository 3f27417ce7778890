"""What papers publish, and ours beside it."""

from gpusched_papers.common.published import MEANINGS as MEANINGS
from gpusched_papers.common.published import Claim as Claim
from gpusched_papers.common.published import Credit as Credit
from gpusched_papers.common.published import Published as Published
from gpusched_papers.common.verdicts import RULE as RULE
from gpusched_papers.common.verdicts import Comparison as Comparison
from gpusched_papers.common.verdicts import beside as beside
from gpusched_papers.common.verdicts import compare as compare
from gpusched_papers.common.verdicts import prediction as prediction
from gpusched_papers.common.verdicts import row_of as row_of
from gpusched_papers.common.verdicts import verdicts as verdicts
from gpusched_papers.common.verdicts import with_all as with_all
