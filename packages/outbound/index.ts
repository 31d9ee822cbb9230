export { createOutbound, loadTrustedAuthorities, type Outbound, type OutboundResponse } from './client.ts'
export {
  createLookup,
  type OutboundCode,
  OutboundError,
  type Resolve,
  resolveAllowedAddresses,
  systemResolve,
} from './guard.ts'
export { type MetadataClient, metadataClient } from './metadata-client.ts'
export { createPlainFetch, type PlainFetch } from './plain-fetch.ts'
export { createTlsProbe, type TlsProbe } from './tls-probe.ts'
