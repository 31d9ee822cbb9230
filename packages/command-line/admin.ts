export { createPasswordSource, passwordOptions } from './admin/new-password.ts'
export { runAdmin } from './admin/run.ts'
export { adminAccountOptions, adminOptions, adminServiceOptions } from './admin/verb.ts'
export { verbs } from './admin/verbs.ts'
