/** Groups, KEM and hashes of version 16: ristretto255, ML-KEM-512, SHA-3, KMAC256 and SHAKE256. */
export * from './group.ts'
export * from './hashes.ts'
export * from './kem.ts'
