/** Bytes of Covercrypt objects: LEB128 numbers, counted lists, length-prefixed texts. */
export * from './reader.ts'
export * from './writer.ts'
