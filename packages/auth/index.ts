export { recoverAdmin } from './recover.ts'
export { authService } from './service.ts'
