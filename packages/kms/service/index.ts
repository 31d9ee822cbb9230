export { kmsService } from './service.ts'
export type { KmsServices } from './services.ts'
export type { KmsConfig } from './settings.ts'
