/** A time as fifteen numbers: seven cyclic pairs, proleptic Gregorian and UTC, and a z-score (seed 004 §2). */
import { existsSync, readFileSync } from "node:fs";
import { score } from "./numbers.js";

export const WIDTH = 15;
const SECOND = 1_000_000n;
const DAY = 86_400n;
const ERA = 146_097; // days in 400 years
const TO_ERA = 719_468; // days from 0000-03-01 to 1970-01-01
const PLACES = ["../../../spec/batch/tables/cyclic.json", "../../../conformance/_data/spec/batch/tables/cyclic.json"];

let tables;

/** The contract's sines and cosines, which no library may compute; read when the first time is encoded. */
function cyclicTables() {
  tables ??= JSON.parse(readFileSync(PLACES.map((place) => new URL(place, import.meta.url)).find(existsSync))).tables
    .map(({ field, sin, cos }) => ({ field, sin: sin.map(binary32), cos: cos.map(binary32) }));
  return tables;
}

const binary32 = (digits) => Buffer.from(digits, "hex").readFloatBE();

/** The quotient and the remainder of a floor division. */
function floorDivide(value, divisor) {
  const remainder = ((value % divisor) + divisor) % divisor;
  return [(value - remainder) / divisor, remainder];
}

/** The seven fields of a time in microseconds, each counted from zero; Monday is 0. */
function fieldsOf(microseconds) {
  const [seconds] = floorDivide(microseconds, SECOND);
  const [days, secondOfDay] = floorDivide(seconds, DAY).map(Number);
  // Years that begin in March: their leap day is their last.
  const [, day] = floorDivide(days + TO_ERA, ERA);
  const yearOfEra = Math.floor((day - Math.floor(day / 1460) + Math.floor(day / 36_524) - Math.floor(day / 146_096)) / 365);
  const sinceMarch = day - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * sinceMarch + 2) / 153);
  const year = yearOfEra + (marchMonth >= 10 ? 1 : 0);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const toMarch = isLeap ? 60 : 59;
  return {
    second: secondOfDay % 60,
    minute: Math.floor(secondOfDay / 60) % 60,
    hour: Math.floor(secondOfDay / 3600),
    weekday: floorDivide(days + 3, 7)[1],
    day_of_month: sinceMarch - Math.floor((153 * marchMonth + 2) / 5),
    month: (marchMonth + 2) % 12,
    day_of_year: marchMonth >= 10 ? sinceMarch - 306 : sinceMarch + toMarch,
  };
}

/** The fifteen numbers of a time. */
export function encodeTimestamp(microseconds, { mean, deviation }) {
  const fields = fieldsOf(microseconds);
  const pairs = cyclicTables().flatMap(({ field, sin, cos }) => [sin[fields[field]], cos[fields[field]]]);
  return [...pairs, score(Number(microseconds), mean, deviation)];
}
