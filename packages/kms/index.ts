export { type KmsServices, kmsOperations } from './rest/index.ts'
export { kmsService } from './service.ts'
export { type KmsConfig, kmsSettings } from './settings.ts'
