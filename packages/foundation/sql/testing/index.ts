export type { Components } from './databases.ts'
export { startTestPostgres, type TestPostgres, type TestPostgresOptions } from './postgres.ts'
