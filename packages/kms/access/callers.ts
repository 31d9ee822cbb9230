/** Every authenticated caller; the operation checks what else it asks for. */
export const signedIn = { name: 'signed in' } as const
/** Every caller, without authentication. */
export const publicAccess = { name: 'public', public: true } as const
