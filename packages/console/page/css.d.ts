/** Vite makes files of their own of these imports. */
declare module '*.css'
