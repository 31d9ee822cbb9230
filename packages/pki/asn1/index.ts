/** DER (X.690): elements out of bytes, and bytes out of values. */
export * from './der.ts'
export * from './time.ts'
