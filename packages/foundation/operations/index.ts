export { type AccessRow, accessTable, type ToleranceRow, toleranceTable } from './access-table.ts'
export { mergeAuditFields } from './audit-fields.ts'
export { defineOperation, fromProbes } from './define.ts'
export { errorBody } from './error-body.ts'
export { removeNullMembers } from './null-members.ts'
export {
  type DocumentedCredentials,
  type DocumentOptions,
  type Json,
  openApiDocument,
  type SecurityScheme,
} from './openapi.ts'
export { del, get, list, methods, type PathSegment, patch, post, put } from './route.ts'
export type * from './types.ts'
export { toYaml } from './yaml.ts'
