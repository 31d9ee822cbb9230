export { clientCertificates } from '../client-certificate.ts'
export { createEndedMemory } from '../revocations/ended-set.ts'
