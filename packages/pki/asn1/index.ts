/** DER (X.690): decodes elements and encodes values. */
export * from './der.ts'
export * from './time.ts'
