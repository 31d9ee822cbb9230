/**
 * The authentication service. Realms hold credentials. A login creates a session, whose token other services verify
 * by themselves. Machines get tokens of their own.
 */
export { authService } from './service.ts'
export type { AuthServices } from './services.ts'
export type { AuthConfig } from './settings.ts'
