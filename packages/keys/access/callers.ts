/** Every authenticated caller; the operation checks further requirements. */
export const signedIn = { name: 'signed in' } as const
/** Every caller, without authentication. */
export const publicAccess = { name: 'public', public: true } as const
