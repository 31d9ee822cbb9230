export { type Answer, type Call, type Caller, caller } from './client.ts'
export { createSite, type ServiceProcess, type Site } from './process.ts'
export { issuer, type Started, type StartOptions, startKms } from './start.ts'
export { storeKeyAs } from './store-key.ts'
