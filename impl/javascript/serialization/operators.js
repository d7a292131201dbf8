/** The operators of the serialization family. */
import { encodeCanonical } from "./encode_canonical.js";
import { validateCanonical } from "./validate_canonical.js";

export const SERIALIZATION_OPERATORS = [encodeCanonical, validateCanonical];
