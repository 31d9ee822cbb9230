export { recoverAdmin } from './recovery/recover.ts'
export { authService } from './service.ts'
