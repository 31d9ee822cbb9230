export { createKmipEngine } from './kmip-engine.ts'
export { kmipOperations } from './operations/index.ts'
export { createKmipSocket } from './transport/index.ts'
