export { createKmipEngine } from './kmip-engine.ts'
export { kmipOperations } from './operations/index.ts'
export { readShare, stageFreshCeremony } from './operations/objects/ceremony-key.ts'
export { createKmipSocket } from './transport/index.ts'
