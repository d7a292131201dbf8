/** The operators of the error family. */
import { emit } from "./emit.js";

export const ERROR_OPERATORS = [emit];
