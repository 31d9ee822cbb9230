/**
 * The authentication service: says who somebody is. Realms hold credentials; a login gives a session, whose token
 * other services verify by themselves; machines get tokens of their own.
 */
export { authService } from './service.ts'
export type { AuthServices } from './services.ts'
export type { AuthConfig } from './settings.ts'
