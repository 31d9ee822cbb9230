export type { KmsServices } from './rest/services.ts'
export { kmsService } from './service.ts'
export { type KmsConfig, kmsSettings } from './settings.ts'
