"""The two codecs of batch files, by name."""

from impl.reference.pipeline.batch_file import Codec
from impl.reference.pipeline.npz_codec import NpzCodec
from impl.reference.pipeline.pt_codec import PtCodec
from impl.reference.pipeline.refusal import Refusal


def codec_named(name: str) -> Codec:
    """Return the codec `npz` or `pt`; CONFIG_INVALID for another name, and for `pt` where torch is not installed."""
    if name == "npz":
        return NpzCodec()
    if name == "pt":
        try:
            return PtCodec()
        except ModuleNotFoundError:
            raise Refusal("CONFIG_INVALID", "the codec pt needs torch, which is not installed") from None
    raise Refusal("CONFIG_INVALID", f"there is no codec {name!r}, only npz and pt")
