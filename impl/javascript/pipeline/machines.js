/** The machines `Pipeline.Provider` and `Pipeline.Consumer`: every method of both. */
import { defaultFailure } from "../errors.js";
import { HANDLE, Machine } from "../machine.js";
import { bool, list, mapOf, optional, string, uint64 } from "../wire.js";
import { Consumer, lookUntil } from "./consumer.js";
import { Provider } from "./provider.js";
import { BATCH_FIELD, CONSUMER_CONFIG, FIELD_SPEC, PROVIDER_CONFIG, Refusal, SPLIT_STATS } from "./types.js";

/** Turns a refusal, also one that comes later, into the failure of the method that is called. */
function refusing(run) {
  return (...given) => {
    const fail = (error) => {
      throw error instanceof Refusal ? defaultFailure(error.code, given.at(-1)) : error;
    };
    try {
      const answer = run(...given);
      return answer instanceof Promise ? answer.catch(fail) : answer;
    } catch (error) {
      return fail(error);
    }
  };
}

const providers = new Machine("Pipeline.Provider");

function openProvider({ root, config }) {
  return { handle: providers.keep(new Provider(root, config)) };
}

function produce(provider, { split, now_ms: now }) {
  const path = provider.produce(split, now);
  return path === undefined ? { produced: false } : { produced: true, path };
}

function closeProvider(provider, { handle }) {
  providers.drop(handle);
  return {};
}

const PRODUCED = { produced: bool, path: optional(string) };

export const PROVIDER_MACHINE = {
  name: providers.name,
  methods: [
    providers.method("Open", { root: string, config: PROVIDER_CONFIG }, HANDLE, refusing(openProvider)),
    providers.handled("Produce", { split: string, now_ms: uint64 }, PRODUCED, refusing(produce)),
    providers.handled("Close", {}, {}, closeProvider),
  ],
};

const consumers = new Machine("Pipeline.Consumer");

function openConsumer({ root, config }) {
  return { handle: consumers.keep(new Consumer(root, config)) };
}

/** Looks until something is found; a consumer that is closed meanwhile finds nothing any more. */
function lookOpen(consumer, look, timeoutMs, name) {
  return lookUntil(() => {
    if (!consumer.isOpen) throw defaultFailure("CONTRACT_VIOLATION", name);
    return look();
  }, timeoutMs);
}

/** Gives on what is there, or will be there. */
function then(found, give) {
  return found instanceof Promise ? found.then(give) : give(found);
}

function getBatch(consumer, { split, timeout_ms: timeoutMs }, name) {
  consumer.judgeSplit(split);
  const found = lookOpen(consumer, () => consumer.nextBatch(split), timeoutMs, name);
  return then(found, (batch) => {
    if (batch === undefined) throw new Refusal("QUEUE_TIMEOUT");
    return batch;
  });
}

function waitForData(consumer, { split, timeout_ms: timeoutMs }, name) {
  consumer.judgeSplit(split);
  const found = lookOpen(consumer, () => consumer.isReady(split) || undefined, timeoutMs, name);
  return then(found, (isReady) => ({ ready: isReady === true }));
}

function setBatchSize(consumer, { batch_size: size }) {
  consumer.setBatchSize(size);
  return {};
}

function resetState(consumer, { split }) {
  if (split !== undefined) consumer.judgeSplit(split);
  consumer.reset(split);
  return {};
}

function schemaOfSplit(consumer, { split }) {
  consumer.judgeSplit(split);
  return { fields: consumer.schema };
}

function closeConsumer(consumer, { handle }) {
  consumer.isOpen = false;
  consumers.drop(handle);
  return {};
}

const WAIT = { split: string, timeout_ms: optional(uint64) };
const BATCH = { form: string, fields: list(BATCH_FIELD) };
const STATS = { mode: string, batch_size: uint64, warnings: list(string), splits: mapOf(SPLIT_STATS) };

export const CONSUMER_MACHINE = {
  name: consumers.name,
  methods: [
    consumers.method("Open", { root: string, config: CONSUMER_CONFIG }, HANDLE, refusing(openConsumer)),
    consumers.handled("GetBatch", WAIT, BATCH, refusing(getBatch)),
    consumers.handled("WaitForData", WAIT, { ready: bool }, refusing(waitForData)),
    consumers.handled("SetBatchSize", { batch_size: uint64 }, {}, refusing(setBatchSize)),
    consumers.handled("ResetState", { split: optional(string) }, {}, refusing(resetState)),
    consumers.handled("Stats", {}, STATS, (consumer) => consumer.stats()),
    consumers.handled("Schema", { split: string }, { fields: list(FIELD_SPEC) }, refusing(schemaOfSplit)),
    consumers.handled("Close", {}, {}, closeConsumer),
  ],
};
