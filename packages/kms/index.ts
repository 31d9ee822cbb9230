export { tryKeys } from './service/restore-test.ts'
export { kmsService } from './service/service.ts'
