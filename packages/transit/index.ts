export type { TransitServices } from './services.ts'
export { transitOperations } from './transit-operations.ts'
