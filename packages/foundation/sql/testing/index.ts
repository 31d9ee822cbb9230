export type { Components } from './databases.ts'
export { startTestPair, type TestPair } from './pair.ts'
export { startTestPostgres, type TestPostgres, type TestPostgresOptions } from './postgres.ts'
export { writeServerFile } from './server.ts'
