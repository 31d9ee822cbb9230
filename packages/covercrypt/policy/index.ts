/** Policies: their grammar, and the rights that they name for a ciphertext or a user. */
export * from './parse.ts'
export * from './rights.ts'
