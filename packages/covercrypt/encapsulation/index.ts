/** Secrets encapsulated for rights, and the ciphertexts that are made with them. */
export * from './decapsulate.ts'
export * from './encapsulate.ts'
export * from './encapsulation.ts'
export * from './encapsulation-bytes.ts'
