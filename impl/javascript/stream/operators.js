/** The stream family: one operator, and one machine with its methods. */
import { firingCounts } from "./frequencies.js";
import { STREAM_METHODS } from "./machine.js";

export const STREAM_OPERATORS = [firingCounts];

export const STREAM_MACHINE = { name: "Stream", methods: STREAM_METHODS };
