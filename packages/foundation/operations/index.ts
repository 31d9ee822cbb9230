export { type AccessRow, accessTable } from './access-table.ts'
export { assertUniqueOperations, defineOperation } from './define.ts'
export { del, get, methods, type PathSegment, patch, pathSegments, post, put } from './route.ts'
export type * from './types.ts'
