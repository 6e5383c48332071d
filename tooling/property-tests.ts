import fc from 'fast-check';

// Every run tests the same cases, so that a failure is reproducible. FC_SEED selects other cases.
const seed = process.env.FC_SEED;
fc.configureGlobal({ seed: seed === undefined ? 20_261_121 : Number(seed) });
