/** Access structures: dimensions and attributes, their text, their bytes, their edits, and the rights they span. */
export * from './edit.ts'
export * from './names.ts'
export * from './right.ts'
export * from './structure.ts'
export * from './structure-bytes.ts'
export * from './structure-json.ts'
