export { type Answer, type Call, type Caller, caller } from './client.ts'
export { issuer, type Started, type StartOptions, startKms } from './start.ts'
