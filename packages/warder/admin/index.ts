/**
 * `warder admin`: what an operator does to realms, users, sessions and roles from a terminal, through the API of the
 * started authentication service and with an administrator's own rights. Nothing here opens the database.
 */

export { runAdmin } from './run.ts'
export { verbs } from './verbs.ts'
