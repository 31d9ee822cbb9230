export { tryKeys } from './drill/drill.ts'
export { kmsService } from './service/service.ts'
