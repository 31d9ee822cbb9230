export { createPasswordCommand, password } from './account/password.ts'
