export { type KmsCommandParts, kmsCommand } from './command.ts'
export { type Person, runKms, sentenceOf } from './run.ts'
export type { KmsContext, KmsVerb } from './verb.ts'
