export { accountCommand, createAccountCommand } from './account/command.ts'
export { createPasswordCommand, password } from './account/password.ts'
