export {
  type AddressSet,
  addressSet,
  type Cidr,
  clientAddress,
  normalAddress,
  parseCidr,
} from '../net/client-address.ts'
export { documentationOperations } from './documentation.ts'
export { type HealthOptions, type HealthPart, healthOperation } from './health.ts'
export { parseJsonBody } from './json-body.ts'
export {
  defaultLimits,
  type ServerLimits,
  type ServiceServer,
  type ServiceServerOptions,
} from './options.ts'
export { peerSecretHeader } from './peer-secret.ts'
export * from './rate-limit/index.ts'
export { rawReply } from './reply.ts'
export { createServiceServer } from './server.ts'
export { compileCheck } from './validation.ts'
